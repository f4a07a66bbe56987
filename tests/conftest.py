"""Ctrl-C means the same everywhere: a shell's background job would ignore it, and so would every
process that a test starts from there."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
