"""People to and from files: CSV and JSON Lines, any number of them in the same memory.

`person.py` is what a line says, `files.py` how the two formats say it. `importing.py` checks a
whole file before it writes, `exporting.py` gives what an import takes.
"""
