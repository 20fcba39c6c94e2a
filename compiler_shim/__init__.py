"""The compiler shim: int8 TFLite networks to DLA programs."""
