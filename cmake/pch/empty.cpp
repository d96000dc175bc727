// The shared libraries are made of object libraries; CMake wants one source.
