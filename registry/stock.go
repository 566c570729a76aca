package registry

import (
	"path"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/provider"
)

// Provider is a vendor as configured. Rows correct the vendor's rows member by member, or add to them. The facts of a model
// come from the configuration, otherwise from its server's current list, otherwise from earlier lists, otherwise from the
// catalog.
type Provider struct {
	ID     string // what clients call it; no slash in it
	Vendor string // whose rows it has; empty: none but its own

	// The wire API and the dialect of models whose rows name none. Empty: those of the vendor.
	API     string
	Dialect string

	Rows []Row

	// Surcharge multiplies the catalog's prices of models that are spoken to over an API, by its name: some hosts take more at some places.
	Surcharge map[string]float64

	// NumCtx is the window that is requested of Ollama, in tokens, if a row has none. 0: see provider.OllamaWindow.
	NumCtx int

	// Refreshed is the host's own list, and Noted are rows of a public table. Zero members state nothing. They add rows and
	// correct them fact by fact. Neither removes a row.
	Refreshed, Noted []provider.Model

	// Lessons are the facts that the host's refusals stated in the last 30 days. The caller leaves out older ones.
	Lessons []Lesson

	// Live returns the models that the provider's server has now; nil: the server cannot be asked. It is called at each
	// look-up from any goroutine, so it must not block. The result must not change later. Its rows are like those of Refreshed.
	Live func() []provider.Model
}

// Lesson has the facts that a host's refusals stated about one of its models.
type Lesson struct {
	Model string `json:"model"`
	AsOf  string `json:"as_of"` // YYYY-MM-DD
	provider.Learned
}

// stock holds the models of one provider. It is built once and never changes.
type stock struct {
	provider  string
	vendor    string
	resells   bool // it sells models of other vendors
	simulates bool // its models are stand-ins
	spoken    spoken
	families  []Family // none if the provider's API is not the vendor's
	display   []provider.Display
	rows      []provider.Model
	aliases   map[string]string         // alias to id
	redirect  map[string]string         // id to the id of the model that answers under it
	own       []string                  // ids of the vendor's rows, and their aliases
	names     sync.Map                  // what the ids of its rows say, by id: see name
	stated    map[string]Row            // of the configuration
	base      map[string]provider.Model // without the configuration; aliases included
	byID      map[string]provider.Model // with it
	numCtx    int                       // of the configuration
	live      func() []provider.Model   // see Provider.Live
	lessons   []Lesson
	skipped   []error // the reasons why rows of lists were left out
	wrong     error   // the first inconsistent row of the configuration; nil: none
}

func (s *stock) find(id string) int {
	return slices.IndexFunc(s.rows, func(m provider.Model) bool { return m.ID == id })
}

func (s *stock) index() map[string]provider.Model {
	byID := map[string]provider.Model{}
	for _, m := range s.rows {
		byID[m.ID] = m
	}
	for alias, id := range s.aliases {
		m := byID[id]
		m.ID = alias // requests name the alias
		byID[alias] = m
	}
	return byID
}

// loaded returns a row with the window that is requested of its server. An Ollama loads a model with that window, even if the
// model supports a larger one.
func (s *stock) loaded(m provider.Model) provider.Model {
	if m.API != "ollama" {
		return m
	}
	if window := provider.OllamaWindow(m, s.numCtx); window > 0 {
		m.Window, m.NumCtx = window, window
	}
	return m
}

// blank returns a model for which only the API is known. It has tools: if it does not support them, the vendor refuses them.
func (s *stock) blank(id string) provider.Model {
	m := provider.Model{Provider: s.provider, ID: id, Tools: true, Source: provider.FromNobody, Thinking: provider.Capability{Display: s.display}}
	m.API, m.Dialect = s.spokenBy(id).both()
	return m
}

// spokenBy returns how a model is spoken to that has no row.
func (s *stock) spokenBy(id string) spoken {
	for _, f := range s.families {
		if fits, err := path.Match(f.Match, id); fits && err == nil {
			return spoken{f.API, f.Dialect}
		}
	}
	return s.spoken
}
