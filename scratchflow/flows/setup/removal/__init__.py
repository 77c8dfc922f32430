"""What `setup --remove` takes back, and what it leaves, with the command that removes each: the user's data is the user's."""
