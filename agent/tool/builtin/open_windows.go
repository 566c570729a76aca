package builtin

// nonblocking is nothing here: pipes have no names in folders.
const nonblocking = 0
