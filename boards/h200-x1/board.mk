# What only make needs to know of this board.
PLATFORM = cuda
SM       = 90
LAYOUT  ?= single
MODEL   ?= qwen2.5-0.5b
METHOD  ?= full
