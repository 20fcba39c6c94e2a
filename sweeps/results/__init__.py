"""What a sweep leaves: finished points on disk, tables, and the result as an object."""
