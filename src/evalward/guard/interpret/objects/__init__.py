"""Operations on objects: reads and writes of properties, of the payload and of the host (ECMA-262 §7.3, §10)."""
