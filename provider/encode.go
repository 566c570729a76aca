package provider

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Encode is JSON without the escapes that encoding/json adds for HTML, so that a body stays as small as it is.
func Encode(v any) (json.RawMessage, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), nil
}
