package vendors

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/registry"
)

const listingsVersion = 1

// Kept is what is stored: what hosts, models.dev and refusals have said of models. Its maps are never changed, only replaced.
type Kept struct {
	Version   int                    `json:"version"`
	Providers map[string]keptListing `json:"providers,omitempty"`  // the list of each provider's host, by provider
	ModelsDev map[string]keptListing `json:"models_dev,omitempty"` // what models.dev said, by vendor
	Learned   map[string]keptLessons `json:"learned,omitempty"`    // what refusals of a provider's host said, by provider
}

// keptLessons are what one address said in refusals.
type keptLessons struct {
	At     string            `json:"at"`
	Models []registry.Lesson `json:"models"`
}

const (
	lessonsFor  = 30 * 24 * time.Hour // how long a refusal counts: hosts change
	lessonsMost = 1000                // of one address
)

type keptListing struct {
	At     string           `json:"at"`    // whose list it is: at another address there are other models
	AsOf   string           `json:"as_of"` // YYYY-MM-DD
	Models []provider.Model `json:"models"`
}

// ReadKept reads what is stored. What cannot be read is logged and ignored: the catalog has rows without it.
func ReadKept(value durable.Value, log *slog.Logger) Kept {
	kept := Kept{Version: listingsVersion}
	text, err := value.Get()
	if err == nil && text == nil {
		return kept
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err == nil && kept.Version != listingsVersion {
		err = fmt.Errorf("version %d, and this is version %d", kept.Version, listingsVersion)
	}
	if err != nil {
		log.Warn("the stored model lists cannot be used; run thinkd models --refresh", "file", value.Name(), "err", err)
		return Kept{Version: listingsVersion}
	}
	return kept
}

// Catalog returns the catalog of these providers with the stored lists, and with the models that local servers list: has
// returns those by the provider's id; nil: no server is asked.
func (k Kept) Catalog(list []Config, has func(id string) []provider.Model) (*registry.Catalog, error) {
	return Catalog(list, func(c Config, p *registry.Provider) {
		if has != nil && c.Lists() {
			p.Live = func() []provider.Model { return has(c.ID) }
		}
		k.over(c, p)
	})
}

// over puts the kept lists of a provider under its configuration.
func (k Kept) over(p Config, r *registry.Provider) {
	if list := k.Providers[p.ID]; list.At == p.BaseURL {
		r.Refreshed = list.Models
	}
	r.Noted = k.ModelsDev[p.Vendor].Models
	if list := k.Learned[p.ID]; list.At == p.BaseURL {
		since := time.Now().Add(-lessonsFor).UTC().Format(time.DateOnly)
		for _, l := range list.Models {
			if l.AsOf >= since {
				r.Lessons = append(r.Lessons, l)
			}
		}
	}
}

func (k Kept) write(value durable.Value) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return value.Put(text)
}
