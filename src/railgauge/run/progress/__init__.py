"""What is shown of how far a process is: one line of the terminal, or a line now and then."""
