"""What the app computes, by plain arguments: caches, jobs, downloads, warm-up."""
