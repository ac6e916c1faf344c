# What only make needs to know of this board.
PLATFORM = cuda
SM       = 90
LAYOUT  ?= tp4pp2
MODEL   ?= qwen2.5-7b
METHOD  ?= full
