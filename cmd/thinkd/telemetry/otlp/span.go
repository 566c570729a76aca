package otlp

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Span is a thing that took time.
type Span struct {
	Trace      TraceID
	ID         SpanID
	Parent     SpanID // zero: it is the first of its trace
	Name       string
	Kind       Kind
	Begun      time.Time
	Ended      time.Time
	Attributes []Attribute
	Failed     bool
}

// TraceID and SpanID are what W3C's Trace Context says; all zero is none.
type (
	TraceID [16]byte
	SpanID  [8]byte
)

// NewSpanID makes a random one.
func NewSpanID() (id SpanID) {
	rand.Read(id[:]) // it never fails
	return id
}

// MarshalText writes the id in hex: in OTLP's JSON ids are, unlike other bytes, not base64.
func (id TraceID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// MarshalText writes the id in hex.
func (id SpanID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// Kind says on which side of a call a span is. The numbers are OTLP's.
type Kind int

const (
	Internal Kind = 1
	Client   Kind = 3
)

// Attribute is a fact about a span, a metric, or whose they are.
type Attribute struct {
	Key   string `json:"key"`
	Value Value  `json:"value"`
}

// Value is a Text, Whole, Real, Truth or Texts.
type Value interface{ isValue() }

type (
	Text  string
	Whole int64
	Real  float64
	Truth bool
	Texts []string
)

func (Text) isValue()  {}
func (Whole) isValue() {}
func (Real) isValue()  {}
func (Truth) isValue() {}
func (Texts) isValue() {}

// maxText is how much of a text is sent, in bytes: some are a vendor's or a model's.
const maxText = 256

// MarshalJSON writes OTLP's AnyValue.
func (t Text) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"stringValue": clip(string(t), maxText)})
}

// MarshalJSON writes OTLP's AnyValue: 64 bits are a string, as in all JSON of Protocol Buffers.
func (n Whole) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"intValue":"%d"}`, int64(n)), nil
}

// MarshalJSON writes OTLP's AnyValue.
func (x Real) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]float64{"doubleValue": float64(x)})
}

// MarshalJSON writes OTLP's AnyValue.
func (b Truth) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"boolValue":%t}`, bool(b)), nil
}

// MarshalJSON writes OTLP's AnyValue.
func (l Texts) MarshalJSON() ([]byte, error) {
	values := make([]Text, len(l))
	for i, t := range l {
		values[i] = Text(t)
	}
	return json.Marshal(map[string]any{"arrayValue": map[string]any{"values": values}})
}

// nanos is a time in nanoseconds since 1970.
type nanos time.Time

// MarshalJSON writes it as 64 bits are written.
func (t nanos) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(time.Time(t).UnixNano(), 10)), nil
}

// The messages of OTLP, as far as they are used.
type (
	wireResource struct {
		Attributes []Attribute `json:"attributes"`
	}
	wireScope struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	wireSpan struct {
		Trace      TraceID     `json:"traceId"`
		ID         SpanID      `json:"spanId"`
		Parent     *SpanID     `json:"parentSpanId,omitempty"`
		Flags      uint32      `json:"flags"`
		Name       string      `json:"name"`
		Kind       Kind        `json:"kind"`
		Begun      nanos       `json:"startTimeUnixNano"`
		Ended      nanos       `json:"endTimeUnixNano"`
		Attributes []Attribute `json:"attributes,omitempty"`
		Status     wireStatus  `json:"status"`
	}
	wireStatus struct {
		Code int `json:"code,omitempty"`
	}
	wireScopeSpans struct {
		Scope     wireScope  `json:"scope"`
		Spans     []wireSpan `json:"spans"`
		SchemaURL string     `json:"schemaUrl"`
	}
	wireResourceSpans struct {
		Resource   wireResource     `json:"resource"`
		ScopeSpans []wireScopeSpans `json:"scopeSpans"`
		SchemaURL  string           `json:"schemaUrl"`
	}
	wireTraces struct {
		ResourceSpans []wireResourceSpans `json:"resourceSpans"`
	}
)

const (
	flagSampled  = 0x001
	flagIsLocal  = 0x100 // whether the parent is remote is known, and it is not
	statusFailed = 2
)

// encodeSpans is a request with spans.
func (e *Exporter) encodeSpans(spans []Span) []byte {
	list := make([]wireSpan, len(spans))
	for i, s := range spans {
		list[i] = wireSpan{Trace: s.Trace, ID: s.ID, Flags: flagSampled | flagIsLocal, Name: clip(s.Name, maxText), Kind: s.Kind,
			Begun: nanos(s.Begun), Ended: nanos(s.Begun.Add(s.Ended.Sub(s.Begun))), Attributes: s.Attributes}
		if s.Parent != (SpanID{}) {
			list[i].Parent = &s.Parent
		}
		if s.Failed {
			list[i].Status.Code = statusFailed
		}
	}
	return encode(wireTraces{[]wireResourceSpans{{Resource: wireResource{e.cfg.Resource}, SchemaURL: e.cfg.Scope.SchemaURL,
		ScopeSpans: []wireScopeSpans{{wireScope{e.cfg.Scope.Name, e.cfg.Scope.Version}, list, e.cfg.Scope.SchemaURL}}}}})
}

// encode writes a message. All that is in one can be written: floats are finite, texts are made valid.
func encode(message any) []byte {
	body, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	return body
}
