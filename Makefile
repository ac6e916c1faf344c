# Nocturne: one image for one cluster. `make help` lists the targets.

# ---- what to build ----
BOARD  ?= host-x8
# Boards and layouts of one's own may lie in other folders.
BOARDS ?= boards
ifeq ($(wildcard $(BOARDS)/$(BOARD)/board.mk),)
$(error BOARD=$(BOARD): there is no $(BOARDS)/$(BOARD)/board.mk; there are: $(notdir $(patsubst %/,%,$(dir $(wildcard $(BOARDS)/*/board.mk)))))
endif
include $(BOARDS)/$(BOARD)/board.mk

# What is there under DIR/*EXT, as names: for messages.
names = $(sort $(patsubst $(1)/%$(2),%,$(wildcard $(1)/*$(2))))
LAYOUTS ?= layouts
ifeq ($(wildcard $(LAYOUTS)/$(LAYOUT).h),)
$(error LAYOUT=$(LAYOUT): there is no $(LAYOUTS)/$(LAYOUT).h; there are: $(call names,$(LAYOUTS),.h))
endif
ifeq ($(wildcard layouts/models/$(MODEL).h),)
$(error MODEL=$(MODEL): there is no layouts/models/$(MODEL).h; there are: $(call names,layouts/models,.h))
endif
ifeq ($(wildcard layouts/methods/$(METHOD).h),)
$(error METHOD=$(METHOD): there is no layouts/methods/$(METHOD).h; there are: $(call names,layouts/methods,.h))
endif

# SEQ, ROWS and MICRO become C constants: digits, no leading zero (C would read octal). What the layout allows, layoutc says.
undigit = $(subst 9,$(2),$(subst 8,$(2),$(subst 7,$(2),$(subst 6,$(2),$(subst 5,$(2),$(subst 4,$(2),$(subst 3,$(2),$(subst 2,$(2),$(subst 1,$(2),$(subst 0,$(2),$(1)))))))))))
space   = $(subst ,, )
whole   = $(if $(call undigit,$(1),)$(filter 0%,$(1))$(word 10,$(call undigit,$(1),digit$(space))),,whole)
$(foreach name,SEQ ROWS MICRO,$(if $($(name)),$(if $(call whole,$($(name))),,$(error $(name) is $($(name)); allowed is a whole number from 1 to 999999999, in digits alone))))

# The demo and the recipe of its checkpoint build images of their own.
given = $(filter command environment,$(firstword $(origin $(1))))
fixed = $(foreach name,$(2),$(if $(call given,$(name)),$(error make $(1) builds its own board and layout: $(name)=$($(name)) cannot be honoured$(3))))
$(if $(filter demo,$(MAKECMDGOALS)),$(call fixed,demo,BOARD LAYOUT METHOD SEQ ROWS MICRO,; MODEL= and DEMO_FOLDER= can))
$(if $(filter tiny,$(MAKECMDGOALS)),$(call fixed,tiny,BOARD LAYOUT MODEL METHOD SEQ ROWS MICRO))

BUILD ?= build
CC    ?= gcc
ifeq ($(origin CC),default)
CC    := gcc
endif

WARNINGS  = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef
BLAS      = /usr/lib/x86_64-linux-gnu/openblas-serial
INCLUDES  = -I. -Isrc -I/usr/include/x86_64-linux-gnu/openblas-serial
OPTIMISE ?= -O3
CFLAGS    = -std=c11 -D_GNU_SOURCE -g1 $(OPTIMISE) -march=x86-64-v3 -fno-math-errno -pthread $(WARNINGS) $(INCLUDES) '-ffile-prefix-map=$(CURDIR)=.' $(EXTRA_CFLAGS)
# OpenBLAS gets its working memory from kernels/host/blas.c and its choice of kernels from blas_kernel.c, which say why.
LDFLAGS   = -static -pthread -Wl,--wrap=blas_memory_alloc,--wrap=blas_memory_free,--wrap=gotoblas_dynamic_init $(EXTRA_LDFLAGS)
LIBS      = -Wl,--start-group $(LIBRARY) $(BLAS)/libopenblas.a -Wl,--end-group -ljansson -lconfig -lpcre2-8 -lutf8proc -lxxhash -lm

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
	$(CC) $(LDFLAGS) $(WRAP) $^ $(LIBS) -o $@

DECODE_SOURCES = $(wildcard tools/decode/*.c) $(filter-out tools/pack/main.c,$(PACK_SOURCES))
$(BUILD)/tools/decode: $(DECODE_SOURCES:%.c=$(BUILD)/lib/%.o) $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $(WRAP) $^ $(LIBS) -o $@

GGUF2HF_SOURCES = $(wildcard tools/gguf2hf/*.c)
$(BUILD)/tools/gguf2hf: $(GGUF2HF_SOURCES:%.c=$(BUILD)/lib/%.o) $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ $(LIBS) -o $@

$(BUILD)/tools/%: $(BUILD)/lib/tools/%.o $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $(WRAP) $^ $(LIBS) -o $@

# ---- the layout compiler: the headers of one image in, its tables out. Only input.c depends on the image ----
# SEQ, ROWS and MICRO override the layout's sequence length, rows of a micro-batch and micro-batches.
OVERRIDES    = $(if $(SEQ),+seq$(SEQ))$(if $(ROWS),+rows$(ROWS))$(if $(MICRO),+micro$(MICRO))
IMAGE_DIR    = $(BUILD)/$(BOARD)/$(LAYOUT)$(OVERRIDES)/$(MODEL)/$(METHOD)
CONFIG_FLAGS = -DBOARD_HEADER='"$(BOARDS)/$(BOARD)/board.h"' -DLAYOUT_HEADER='"$(LAYOUTS)/$(LAYOUT).h"' \
               -DMODEL_HEADER='"layouts/models/$(MODEL).h"' -DMETHOD_HEADER='"layouts/methods/$(METHOD).h"' \
               $(if $(SEQ),-DSEQ=$(SEQ)) $(if $(ROWS),-DROWS=$(ROWS)) $(if $(MICRO),-DMICRO=$(MICRO))

LAYOUTC_SOURCES = $(filter-out tools/layoutc/input.c tools/layoutc/main.c,$(wildcard tools/layoutc/*.c))
LAYOUTC_LIBRARY = $(BUILD)/lib/liblayoutc.a

$(LAYOUTC_LIBRARY): $(LAYOUTC_SOURCES:%.c=$(BUILD)/lib/%.o) $(BUILD)/lib/platform/status.o
	@rm -f $@
	ar rcsD $@ $^

$(IMAGE_DIR)/input.o: tools/layoutc/input.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CONFIG_FLAGS) -MMD -MP -c $< -o $@

$(IMAGE_DIR)/layoutc: $(IMAGE_DIR)/input.o $(BUILD)/lib/tools/layoutc/main.o $(LAYOUTC_LIBRARY)
	$(CC) $(LDFLAGS) $^ -lxxhash -o $@

$(IMAGE_DIR)/tables.c: $(IMAGE_DIR)/layoutc
	$(IMAGE_DIR)/layoutc $@

# ---- the verifier: proves the tables before the image links. Only facts.c depends on the image ----
VERIFY_SOURCES = $(filter-out tools/verify/facts.c tools/verify/main.c,$(wildcard tools/verify/*.c))
VERIFY_LIBRARY = $(BUILD)/lib/libverify.a

$(VERIFY_LIBRARY): $(VERIFY_SOURCES:%.c=$(BUILD)/lib/%.o) $(BUILD)/lib/platform/status.o
	@rm -f $@
	ar rcsD $@ $^

# Whatever includes config.h waits for layoutc: what is wrong with the headers, it says in their words.
$(IMAGE_DIR)/facts.o: tools/verify/facts.c | $(IMAGE_DIR)/tables.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CONFIG_FLAGS) -MMD -MP -c $< -o $@

$(IMAGE_DIR)/verify: $(IMAGE_DIR)/facts.o $(IMAGE_DIR)/tables.o $(BUILD)/lib/tools/verify/main.o $(VERIFY_LIBRARY)
	$(CC) $(LDFLAGS) $^ -o $@

$(IMAGE_DIR)/verified: $(IMAGE_DIR)/verify
	$(IMAGE_DIR)/verify > $@

# ---- the image: what includes config.h is compiled for it, the rest is shared ----
IMAGE_SOURCES  = src/main.c $(wildcard src/boot/*.c) $(wildcard src/run/*.c) $(wildcard src/save/*.c)
FIXED_SOURCES  = $(shell grep -l 'include "config.h"' $(IMAGE_SOURCES))
SHARED_SOURCES = $(filter-out $(FIXED_SOURCES),$(IMAGE_SOURCES))
IMAGE_OBJECTS  = $(FIXED_SOURCES:%.c=$(IMAGE_DIR)/obj/%.o) $(IMAGE_DIR)/tables.o $(SHARED_SOURCES:%.c=$(BUILD)/lib/%.o)
REVISION       = $(shell git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
# Calls of the heap, libc's own among them, go through platform/host/seal.c; functions of boot lie on pages of their own.
WRAP           = -Wl,-u,__wrap_malloc $(foreach call,malloc calloc realloc free aligned_alloc memalign posix_memalign valloc pvalloc,-Wl,--wrap=$(call)) \
                 -Wl,-T,platform/host/boot.ld

$(IMAGE_DIR)/obj/%.o: %.c | $(IMAGE_DIR)/tables.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -O2 $(CONFIG_FLAGS) -MMD -MP -c $< -o $@

$(IMAGE_DIR)/tables.o: $(IMAGE_DIR)/tables.c
	$(CC) $(CFLAGS) -O0 $(CONFIG_FLAGS) -ffile-prefix-map=$(BUILD)=build -MMD -MP -c $< -o $@

$(IMAGE_DIR)/nocturne: $(IMAGE_OBJECTS) $(LIBRARY) | $(IMAGE_DIR)/verified
	$(CC) $(LDFLAGS) $(WRAP) $^ $(LIBS) -o $@

$(IMAGE_DIR)/manifest.json: $(IMAGE_DIR)/nocturne
	@printf '{\n "board": "%s", "layout": "%s", "model": "%s", "method": "%s",\n "revision": "%s",\n "inputs": "%s",\n "image_sha256": "%s"\n}\n' \
	    "$(BOARD)" "$(LAYOUT)$(OVERRIDES)" "$(MODEL)" "$(METHOD)" "$(REVISION)" \
	    "$$($(IMAGE_DIR)/nocturne info | sed -n 's/^inputs *//p')" "$$(sha256sum < $< | cut -d' ' -f1)" > $@

## image: builds BOARD=.. LAYOUT=.. [MODEL=..] [METHOD=..] [SEQ=..] [ROWS=..] [MICRO=..] under build/<board>/<layout>/<model>/<method>/
.PHONY: image
ifeq ($(PLATFORM),cuda)
image: $(IMAGE_DIR)/verified
	@$(IMAGE_DIR)/layoutc --size
	@echo "$(IMAGE_DIR)/tables.c is made and checked. The image for a CUDA board is not part of this version: no binary was linked."
else
image: $(IMAGE_DIR)/manifest.json
	@echo "image: $(IMAGE_DIR)/nocturne"
endif

## size: the memory map of BOARD=.. LAYOUT=.. MODEL=..: each stage, by kind, against the device
.PHONY: size
size: $(IMAGE_DIR)/layoutc
	@$(IMAGE_DIR)/layoutc --size

# ---- tests: test/<room>/<noun>_test.c is a program; it may also use test/reference and the objects of tools/pack ----
TEST_SOURCES  = $(wildcard test/*/*_test.c)
TEST_PROGRAMS = $(TEST_SOURCES:test/%.c=$(BUILD)/test/%)
TEST_COMMON   = test/test.c $(filter-out %_test.c,$(wildcard test/file/*.c)) $(wildcard test/reference/*.c) $(filter-out tools/pack/main.c,$(PACK_SOURCES)) $(filter-out tools/gguf2hf/main.c,$(GGUF2HF_SOURCES)) src/run/order.c src/run/rate.c src/boot/job.c src/boot/jobtext.c src/save/telemetry.c src/save/number.c
TEST_LIBRARY  = $(BUILD)/lib/libtest.a

$(TEST_LIBRARY): $(TEST_COMMON:%.c=$(BUILD)/lib/%.o)
	@rm -f $@
	ar rcsD $@ $^

$(BUILD)/test/%: $(BUILD)/lib/test/%.o $(TEST_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $(WRAP) $^ $(LIBS) -o $@

# Tests of tables make them in their own process.
$(BUILD)/test/tables/%: $(BUILD)/lib/test/tables/%.o $(TEST_LIBRARY) $(LAYOUTC_LIBRARY) $(VERIFY_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $(WRAP) $^ $(LIBS) -o $@

## setup: installs the packages that the build needs and this machine lacks
.PHONY: setup
setup:
	@tools/setup.sh

## test: everything that a commit must pass; ONE=file.name[:seed=n] runs one
.PHONY: test
test: setup
	@$(MAKE) --no-print-directory test-programs
	@test/run.sh $(BUILD) $(ONE)

## check: the quick part of it: programs without the runs of whole images
.PHONY: check
check: setup
	@$(MAKE) --no-print-directory test-programs
	@test/run.sh $(BUILD) quick

.PHONY: test-programs
test-programs: $(TEST_PROGRAMS)

# The demo builds its own image: eight ranks, cut as the model allows.
DEMO_MODEL   = $(if $(call given,MODEL),$(MODEL),demo)
DEMO_LAYOUT  = $(if $(filter smollm2-135m,$(DEMO_MODEL)),pp2dp4,tp2pp2dp2)
DEMO_BATCH   = $(if $(filter smollm2-135m,$(DEMO_MODEL)),ROWS=2 MICRO=1,ROWS=4 MICRO=2)
DEMO_FOLDER ?= $(if $(filter demo,$(DEMO_MODEL)),demo/model,$(BUILD)/models/$(DEMO_MODEL))

## demo: fine-tunes a small model on eight ranks, about two minutes; MODEL=smollm2-135m does the same with the real SmolLM2-135M-Instruct
.PHONY: demo
demo: setup
	@$(MAKE) --no-print-directory demo-run

.PHONY: demo-run
demo-run: $(BUILD)/tools/pack $(BUILD)/tools/decode $(BUILD)/tools/mkdemo
	@$(if $(filter demo,$(DEMO_MODEL)),,tools/get_model.sh "$(DEMO_MODEL)" "$(DEMO_FOLDER)" "$(BUILD)")
	@$(MAKE) --no-print-directory BOARD=host-x8 LAYOUT=$(DEMO_LAYOUT) MODEL=$(DEMO_MODEL) SEQ=128 $(DEMO_BATCH) image
	@folder=$$(cd "$(DEMO_FOLDER)" && pwd) && tools/demo.sh "$(BUILD)" "$(DEMO_MODEL)" \
	    "$(BUILD)/host-x8/$(DEMO_LAYOUT)+seq128+$(subst ROWS=,rows,$(subst MICRO=,micro,$(subst $(space),+,$(DEMO_BATCH))))/$(DEMO_MODEL)/full/nocturne" "$$folder"

## tiny: trains the demo's checkpoint again from nothing, with the recipe in tools/tiny
.PHONY: tiny
tiny: setup
	@$(MAKE) --no-print-directory BOARD=host-x1 LAYOUT=single MODEL=demo SEQ=128 ROWS=8 MICRO=4 image $(BUILD)/tools/pack $(BUILD)/tools/mkdemo
	@tools/tiny/recipe.sh "$(BUILD)" "$(BUILD)"/host-x1/single+seq128+rows8+micro4/demo/full/nocturne

## golden: makes the fixtures under test/golden again, with PyTorch in .venv (large: not part of any test)
.PHONY: golden
golden:
	python3 -m venv .venv
	.venv/bin/pip install torch transformers safetensors numpy
	.venv/bin/python tools/golden/make_fixtures.py

## bench: speed and memory, as ratios to what was measured in the same run; also as build/bench.json. About eight minutes; ONLY=scale is one part
.PHONY: bench
bench: setup
	@test/bench/bench.sh $(BUILD) $(or $(ROUNDS),3) '$(ONLY)'

SOURCES_IN_C = $(shell git ls-files '*.c' '*.h' 2>/dev/null | grep -v '^layouts/\|^boards/\|^test/bench/scale/')

## format: spacing by clang-format, in place
.PHONY: format
format:
	clang-format -i $(SOURCES_IN_C)

## lint: the rules of the house, and that each check finds a violation planted in a copy
.PHONY: lint
lint:
	@tools/lint/lint.sh . $(BUILD)
	@tools/lint/planted.sh

## clean: removes what was built
.PHONY: clean
clean:
	rm -rf $(BUILD)

## help: this list
.PHONY: help
help:
	@sed -n 's/^## /  make /p' Makefile

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
