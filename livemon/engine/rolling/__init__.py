"""Rolling views: bounded multi-resolution rings and windows that the screens are drawn from."""
