package proof

import (
	"fmt"
	"slices"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

// Facts are attributes in words, those of words alone.
func Facts(list []*commonpb.KeyValue, keys ...string) map[string]string {
	words := make(map[string]string)
	for _, a := range list {
		if len(keys) > 0 && !slices.Contains(keys, a.Key) {
			continue
		}
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			words[a.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			words[a.Key] = fmt.Sprint(v.IntValue)
		case *commonpb.AnyValue_DoubleValue:
			words[a.Key] = "a number"
		case *commonpb.AnyValue_BoolValue:
			words[a.Key] = fmt.Sprint(v.BoolValue)
		case *commonpb.AnyValue_ArrayValue:
			for _, inner := range v.ArrayValue.Values {
				words[a.Key] = strings.TrimSpace(words[a.Key] + " " + inner.GetStringValue())
			}
		}
	}
	return words
}
