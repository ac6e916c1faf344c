# What only make needs to know of this board.
PLATFORM = cuda
SM       = 90
LAYOUT  ?= tp8pp16dp8
MODEL   ?= llama3.1-405b
METHOD  ?= full
