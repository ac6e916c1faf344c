# What only make needs to know of this board.
PLATFORM = host
LAYOUT  ?= single
MODEL   ?= tiny-llama
METHOD  ?= full
