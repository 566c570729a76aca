package ownjson

import "reflect"

// Append appends the JSON of a value: what an encoding/json.Encoder writes after SetEscapeHTML(false), without the newline at the end. Its
// errors are those of the Encoder. It is safe for concurrent use.
func Append(out []byte, v any) ([]byte, error) {
	value := reflect.ValueOf(v)
	if !value.IsValid() {
		return append(out, "null"...), nil
	}
	written, err := planOf(value.Type()).write(out, value)
	if err == nil {
		return written, nil
	}
	data, err := plain(v) // for an error that names the whole
	return append(out, data...), err
}
