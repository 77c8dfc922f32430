"""What a user asks for, told as steps, one file a verb."""
