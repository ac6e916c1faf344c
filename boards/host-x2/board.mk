# What only make needs to know of this board.
PLATFORM = host
LAYOUT  ?= tp2
MODEL   ?= tiny-llama
METHOD  ?= full
