# Serves a small model, with llama.cpp's own HTTP server, on a free port of the loopback.
# Arguments: the model's file, the chat template's file.
import signal
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 4096
params.n_parallel = 1
# More threads than idle cores make it many times slower: they spin.
params.cpuparams.n_threads = 1
params.use_jinja = True
params.chat_template = open(sys.argv[2]).read()
params.port = 0
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
signal.pause()
