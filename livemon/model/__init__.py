"""What things are: values that the parts of livemon hand to each other; imports nothing of ours."""
