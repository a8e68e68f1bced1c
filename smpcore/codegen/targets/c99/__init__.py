"""C99: a header, a source file, and of integers the conversion of the inputs."""
