package providertest

import (
	"cmp"
	"io"
	"maps"
	"net/http"
	"strings"
)

// Host is a transport that answers each request with the same status and body. The answer names the request req_1 and the
// organization org_1. It keeps the last request. It is for one goroutine.
type Host struct {
	Status int // 0: 200
	Body   string
	Type   string      // the MIME type; empty: an event stream
	Header http.Header // in addition

	Sent       []byte // the body of the last request
	SentHeader http.Header
	URL        string
}

func (h *Host) RoundTrip(req *http.Request) (*http.Response, error) {
	h.URL, h.SentHeader = req.URL.String(), req.Header
	if req.Body != nil {
		var err error
		if h.Sent, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	header := http.Header{"Content-Type": {cmp.Or(h.Type, "text/event-stream")}, "Request-Id": {"req_1"}, "X-Request-Id": {"req_1"},
		"Anthropic-Organization-Id": {"org_1"}}
	maps.Copy(header, h.Header)
	return &http.Response{StatusCode: cmp.Or(h.Status, http.StatusOK), Request: req, Header: header, Body: io.NopCloser(strings.NewReader(h.Body))}, nil
}
