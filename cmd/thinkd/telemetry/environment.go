package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/oklog/ulid/v2"

	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/otlp"
	"github.com/thinkd/thinkd/provider"
)

// otelSettings read what the environment says of OpenTelemetry (opentelemetry.io: "Environment Variable Specification" and
// "OpenTelemetry Protocol Exporter"). The variables are about all programs of the user, so one that is wrong, or asks for
// what thinkd cannot do, is told in the log and does not keep the daemon from starting.
type otelSettings struct {
	stated  string // the config's endpoint, which goes before the environment's; empty: there is none
	getenv  func(string) string
	version string
	log     *slog.Logger
}

// otelSignal is one of the two that are sent.
type otelSignal struct{ name, path string }

var (
	otelTraces  = otelSignal{"TRACES", "v1/traces"}
	otelMetrics = otelSignal{"METRICS", "v1/metrics"}
)

// config is what to send, and where. ok is false where nobody asked for it, which is the default.
func (o otelSettings) config() (c otlp.Config, ok bool) {
	if strings.EqualFold(o.get("OTEL_SDK_DISABLED"), "true") {
		return otlp.Config{}, false
	}
	c.Traces, c.Metrics = o.endpoint(otelTraces), o.endpoint(otelMetrics)
	if c.Traces.URL == "" && c.Metrics.URL == "" {
		return otlp.Config{}, false
	}
	c.Interval = o.milliseconds("OTEL_METRIC_EXPORT_INTERVAL")
	c.Delay = o.milliseconds("OTEL_BSP_SCHEDULE_DELAY")
	c.Resource = o.resource()
	c.Log = o.log
	return c, true
}

func (o otelSettings) get(name string) string { return strings.TrimSpace(o.getenv(name)) }

// of is what is said of a signal, else of all, and the variable that says it.
func (o otelSettings) of(s otelSignal, what string) (value, name string) {
	name = "OTEL_EXPORTER_OTLP_" + s.name + "_" + what
	if value = o.get(name); value == "" {
		name = "OTEL_EXPORTER_OTLP_" + what
		value = o.get(name)
	}
	return value, name
}

func (o otelSettings) wrong(name, problem string) {
	o.log.Warn("OpenTelemetry: a variable is not followed", "name", name, "because", problem)
}

// endpoint is where a signal goes; without a URL it goes nowhere.
func (o otelSettings) endpoint(s otelSignal) otlp.Endpoint {
	switch name := "OTEL_" + s.name + "_EXPORTER"; o.get(name) {
	case "", "otlp":
	case "none":
		return otlp.Endpoint{}
	default:
		o.wrong(name, "only otlp and none are known")
		return otlp.Endpoint{}
	}
	address, name := o.of(s, "ENDPOINT")
	if o.stated != "" {
		address, name = o.stated, ""
	}
	if address == "" {
		return otlp.Endpoint{}
	}
	u, err := ParseEndpoint(address)
	if err != nil {
		o.wrong(name, err.Error())
		return otlp.Endpoint{}
	}
	if !strings.Contains(name, s.name) { // what is said of a signal is taken as it is
		u = u.JoinPath(s.path)
	}
	e := otlp.Endpoint{URL: u.String(), Headers: o.headers(s)}
	switch protocol, name := o.of(s, "PROTOCOL"); protocol {
	case "", "http/json":
	case "http/protobuf":
		o.wrong(name, "what is sent is http/json, at the same address")
	default:
		o.wrong(name, "only http/json is spoken, so nothing is sent")
		return otlp.Endpoint{}
	}
	switch how, name := o.of(s, "COMPRESSION"); how {
	case "", "none":
	case "gzip":
		e.Gzip = true
	default:
		o.wrong(name, "only gzip and none are known")
	}
	_, name = o.of(s, "TIMEOUT")
	e.Timeout = o.milliseconds(name)
	return e
}

// ParseEndpoint parses the base address of a collector. Its error does not quote the address, which may contain a password.
func ParseEndpoint(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return nil, errEndpoint
	}
	return u, nil
}

var errEndpoint = errors.New(`wants an address such as "http://127.0.0.1:4318", without a user name; keys go into OTEL_EXPORTER_OTLP_HEADERS`)

// milliseconds is a length of time, 0 where none is said.
func (o otelSettings) milliseconds(name string) time.Duration {
	value := o.get(name)
	if value == "" {
		return 0
	}
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || n == 0 {
		o.wrong(name, "wants a number of milliseconds")
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// headers are sent with each request of a signal. They may carry keys, so no value is ever shown.
func (o otelSettings) headers(s otelSignal) map[string]provider.Secret {
	text, name := o.of(s, "HEADERS")
	list, err := pairs(text)
	if err != nil {
		o.wrong(name, err.Error())
		return nil
	}
	headers := make(map[string]provider.Secret)
	for key, value := range list {
		if key == "" || strings.ContainsFunc(key, notInHeaderName) || strings.ContainsFunc(value, unicode.IsControl) {
			o.wrong(name, "something in it is not a header")
			return nil
		}
		headers[key] = provider.NewSecret(value)
	}
	return headers
}

// notInHeaderName reports whether a character may not be in the name of a header (RFC 9110, 5.6.2).
func notInHeaderName(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// resource says who sends. What the environment says wins.
func (o otelSettings) resource() []otlp.Attribute {
	facts := map[string]string{"service.name": "thinkd", "service.version": o.version, "service.instance.id": ulid.Make().String(),
		"telemetry.sdk.name": "thinkd", "telemetry.sdk.language": "go", "telemetry.sdk.version": o.version}
	said, err := pairs(o.get("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		o.wrong("OTEL_RESOURCE_ATTRIBUTES", err.Error())
	}
	maps.Copy(facts, said)
	facts["service.name"] = cmp.Or(o.get("OTEL_SERVICE_NAME"), facts["service.name"])
	var list []otlp.Attribute
	for _, key := range slices.Sorted(maps.Keys(facts)) {
		list = append(list, otlp.Attribute{Key: key, Value: otlp.Text(facts[key])})
	}
	return list
}

var errPairs = errors.New("wants name=value,name=value, with % and two hex digits for what may not stand in a value")

// pairs reads a list of names and values, which are percent-encoded. Its errors have nothing of what was read.
func pairs(text string) (map[string]string, error) {
	list := make(map[string]string)
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, errPairs
		}
		list[name] = value
	}
	return list, nil
}

// traceOf is the id of a turn's trace, and of the span of the turn: the turn's own id in hex, so that whoever has one finds
// the other. Below its time a ULID is random, as samplers want a trace's id.
func traceOf(turn string) (otlp.TraceID, otlp.SpanID, error) {
	id, err := ulid.ParseStrict(turn)
	if err != nil {
		return otlp.TraceID{}, otlp.SpanID{}, fmt.Errorf("turn %q: %w", turn, err)
	}
	return otlp.TraceID(id), otlp.SpanID(id[8:]), nil
}
