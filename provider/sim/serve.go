package sim

import (
	"fmt"
	"net/http"
)

// ServeHTTP answers one request. The registered face with the highest [Claim] serves it. If no face claims the request, the
// answer has the status 501 and names the import that is missing.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ex := &Exchange{server: s, Request: r, ID: fmt.Sprintf("req_sim_%06d", s.count.Add(1))}
	ex.w = &statusWriter{ResponseWriter: w}
	ex.entry = s.journal.add(r)
	defer func() {
		s.journal.answered(ex.entry, ex.w.status)
		s.config.Log.Debug("simulated", "method", r.Method, "path", r.URL.Path, "status", ex.w.status, "request", ex.ID)
	}()
	face, err := faceFor(r)
	if err != nil {
		s.journal.refuse(Refusal{Path: r.URL.Path, Status: http.StatusNotImplemented, Type: "sim", Message: err.Error()})
		http.Error(ex.w, err.Error(), http.StatusNotImplemented)
		return
	}
	ex.faults = face.Faults
	face.Serve(ex)
}
