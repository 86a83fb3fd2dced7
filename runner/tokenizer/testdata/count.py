"""Counts texts with the library that a tokenizer.json is for.

usage: count.py FILE...   reads texts, a JSON list, and writes for each file the list of their counts
"""

import json
import sys

from tokenizers import Tokenizer

texts = json.load(sys.stdin)
counts = []
for path in sys.argv[1:]:
    tokenizer = Tokenizer.from_file(path)
    counts.append([len(tokenizer.encode(text, add_special_tokens=False)) for text in texts])
json.dump(counts, sys.stdout)
