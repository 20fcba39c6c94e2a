"""What lowering works on: DLA operations on whole tensors, host calls, and views without copies."""
