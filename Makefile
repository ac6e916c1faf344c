# Nocturne: one image for one cluster. `make help` lists the targets.

# ---- what to build ----
BOARD  ?= host-x8
ifeq ($(wildcard boards/$(BOARD)/board.mk),)
$(error BOARD=$(BOARD): there is no boards/$(BOARD)/board.mk; there are: $(notdir $(patsubst %/,%,$(dir $(wildcard boards/*/board.mk)))))
endif
include boards/$(BOARD)/board.mk

BUILD ?= build
CC    ?= gcc
ifeq ($(origin CC),default)
CC    := gcc
endif

WARNINGS  = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef
BLAS      = /usr/lib/x86_64-linux-gnu/openblas-serial
INCLUDES  = -I. -Isrc -I/usr/include/x86_64-linux-gnu/openblas-serial
OPTIMISE ?= -O3
CFLAGS    = -std=c11 -D_GNU_SOURCE -g1 $(OPTIMISE) -march=x86-64-v3 -fno-math-errno -pthread $(WARNINGS) $(INCLUDES) -ffile-prefix-map=$(CURDIR)=. $(EXTRA_CFLAGS)
LDFLAGS   = -static -pthread $(EXTRA_LDFLAGS)
LIBS      = $(BLAS)/libopenblas.a -ljansson -lconfig -lpcre2-8 -lutf8proc -lxxhash -lm

.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := image

# ---- objects that know no layout: compiled once ----
COMMON  = platform/status.c $(wildcard src/file/*.c) $(wildcard kernels/host/*.c) $(wildcard platform/host/*.c)
LIBRARY = $(BUILD)/lib/libnocturne.a

$(BUILD)/lib/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -c $< -o $@

$(LIBRARY): $(COMMON:%.c=$(BUILD)/lib/%.o)
	@rm -f $@
	ar rcsD $@ $^

# ---- tools ----
PACK_SOURCES = $(wildcard tools/pack/*.c)
$(BUILD)/tools/pack: $(PACK_SOURCES:%.c=$(BUILD)/lib/%.o) $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ $(LIBS) -o $@

$(BUILD)/tools/%: $(BUILD)/lib/tools/%.o $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ $(LIBS) -o $@

# ---- tests: test/<room>/<noun>_test.c is a program; it may also use test/reference and the objects of tools/pack ----
TEST_SOURCES  = $(wildcard test/*/*_test.c)
TEST_PROGRAMS = $(TEST_SOURCES:test/%.c=$(BUILD)/test/%)
TEST_COMMON   = test/test.c $(wildcard test/reference/*.c) $(filter-out tools/pack/main.c,$(PACK_SOURCES)) src/run/order.c src/run/rate.c src/boot/job.c src/boot/jobtext.c src/save/telemetry.c
TEST_LIBRARY  = $(BUILD)/lib/libtest.a

$(TEST_LIBRARY): $(TEST_COMMON:%.c=$(BUILD)/lib/%.o)
	@rm -f $@
	ar rcsD $@ $^

$(BUILD)/test/%: $(BUILD)/lib/test/%.o $(TEST_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ $(LIBS) -o $@

## setup: installs the packages that the build needs and this machine lacks
.PHONY: setup
setup:
	@tools/setup.sh

## test: everything that a commit must pass; ONE=file.name[:seed=n] runs one
.PHONY: test
test: setup
	@$(MAKE) --no-print-directory test-programs
	@test/run.sh $(BUILD) $(ONE)

.PHONY: test-programs
test-programs: $(TEST_PROGRAMS)

## clean: removes what was built
.PHONY: clean
clean:
	rm -rf $(BUILD)

## help: this list
.PHONY: help
help:
	@sed -n 's/^## /  make /p' Makefile

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
