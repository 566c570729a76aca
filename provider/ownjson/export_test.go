package ownjson

// Fits reports whether Unmarshal reads data without encoding/json.
func Fits[T any](data []byte) bool { return fits(data, new(T)) }
