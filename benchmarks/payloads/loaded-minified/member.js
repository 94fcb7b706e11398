console["l"+"og"](typeof process==="object");
