"""Operations on objects: reads and writes of properties, of the payload and of the host (ECMA-262 §7.3, §10).

Input: an abstract owner and a key that is known, computed or unknown. Output: the join of all that a read may find, or
changes in the object store. Denied reads, writes to sinks and setters are reported here.
"""
