"""When everything happens: what each operation costs, what it waits for, and what that adds up to."""
