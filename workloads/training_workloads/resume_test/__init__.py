"""Kill a program again and again, and compare what it ends with with a run that nothing disturbed."""
