"""What every part speaks of: values, errors, units, names and what may be shown of them."""
