# Horovod's release build without -g: a compilation in two thirds of the time, a wheel of 1 MB instead of 17 MB.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -DNDEBUG" CACHE STRING "")
