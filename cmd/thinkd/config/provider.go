package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/agent/egress"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
)

// providerIDs lists the catalog's vendors, which need no configuration, and those that the file adds.
func providerIDs(f file) []string {
	var known, own []string
	for _, v := range registry.Vendors() {
		known = append(known, v.ID)
	}
	for id := range f.Providers {
		if !slices.Contains(known, id) {
			own = append(own, id)
		}
	}
	slices.Sort(own)
	last := len(known) - 1 // the simulator
	return slices.Concat(known[:last], own, known[last:])
}

var providerID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) })

func (src *source) provider(id string, f fileProvider, own vendors.Dialects, getenv func(string) string) (vendors.Config, error) {
	key := "providers." + id
	if !providerID().MatchString(id) {
		return vendors.Config{}, src.errorf(key, "a provider's name has letters, digits, dots, dashes and underscores")
	}
	vendor, known := registry.VendorNamed(id)
	p := vendors.Config{
		ID: id, Vendor: id, API: cmp.Or(f.API, vendor.API), Dialect: f.Dialect,
		KeyEnv: cmp.Or(f.KeyEnv, vendor.KeyEnv), Headers: f.Headers, DefaultModel: vendor.DefaultModel,
	}
	if problem := vendors.CheckAPI(p.API); problem != "" {
		return vendors.Config{}, src.errorf(key+".api", "%s", problem)
	}
	if p.Dialect != "" {
		if problem := vendors.CheckDialect(p.API, p.Dialect, own); problem != "" {
			return vendors.Config{}, src.errorf(key+".dialect", "%s", problem)
		}
	} else if p.API == vendor.API || vendors.CheckDialect(p.API, vendor.Dialect, own) == "" {
		p.Dialect = vendor.Dialect // of the vendor's own API, which this build knows, or of another one by the same name
	}
	if !known {
		p.Vendor = makerOf(p)
	}
	stated, err := src.google(key, f, &p, vendor, getenv)
	if err != nil {
		return vendors.Config{}, err
	}
	if p.BaseURL, err = src.baseURL(key, stated, p, vendor, getenv); err != nil {
		return vendors.Config{}, err
	}
	if err = src.amazon(key, f, &p, getenv); err != nil {
		return vendors.Config{}, err
	}
	if err = src.entra(key, f, &p, vendor, getenv); err != nil {
		return vendors.Config{}, err
	}
	if p.NumCtx, err = src.numCtx(key, f.NumCtx, p.API); err != nil {
		return vendors.Config{}, err
	}
	if p.NumCtx == 0 && p.API == "ollama" {
		p.NumCtx = vendors.OllamaContext(getenv)
	}
	if p.Cache, err = src.cache(key+".cache", f.Cache, p.API); err != nil {
		return vendors.Config{}, err
	}
	if p.Context, err = src.managed(key+".context_management", f.Context, p.API); err != nil {
		return vendors.Config{}, err
	}
	if p.Extra, err = src.extra(key+".extra_body", f.Extra); err != nil {
		return vendors.Config{}, err
	}
	if p.Egress = f.Egress; egress.CheckLabels(p.Egress) != nil {
		return vendors.Config{}, src.errorf(key+".egress", "%w", egress.CheckLabels(p.Egress))
	}
	if p.Network, err = src.network(key, f, getenv); err != nil {
		return vendors.Config{}, err
	}
	if !variableName().MatchString(p.KeyEnv) {
		return vendors.Config{}, src.errorf(key+".api_key_env", "must be the name of an environment variable, not a key")
	}
	value := variable(getenv, p.KeyEnv)
	if p.KeyEnvName = provider.NamesVariable(value, p.KeyEnv); !p.KeyEnvName {
		p.Key = provider.NewSecret(value)
	}
	if before := vendor.KeyEnvBefore; p.Key.IsZero() && before != "" && f.KeyEnv == "" {
		if old := variable(getenv, before); old != "" && !provider.NamesVariable(old, before) {
			p.Key, p.KeyEnv, p.KeyEnvNow = provider.NewSecret(old), before, vendor.KeyEnv
		}
	}
	if other := vendor.KeyEnvOther; p.Key.IsZero() && other != "" && f.KeyEnv == "" {
		if value := variable(getenv, other); value != "" && !provider.NamesVariable(value, other) {
			p.Key, p.KeyEnv = provider.NewSecret(value), other
		}
	}
	if p.Login, err = src.login(key, f.Login, p.Vendor, known); err != nil {
		return vendors.Config{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Headers)) {
		if problem := checkHeader(name, f.Headers[name]); problem != "" {
			return vendors.Config{}, src.errorf(key+".headers."+name, "%s", problem)
		}
	}
	p.Defaults, err = registry.ReadDefaults(f.Defaults.Effort, f.Defaults.Fallback)
	if wrong, ok := errors.AsType[*registry.OverrideError](err); ok {
		return vendors.Config{}, src.errorf(key+".reasoning_defaults."+wrong.Field, "%w", wrong.Err)
	}
	for i, m := range f.Models {
		if err := src.spoken(fmt.Sprintf("%s.models.%d", key, i), m, p.API, own); err != nil {
			return vendors.Config{}, err
		}
		row := m.row()
		if row.Options, err = registry.ReadOptions(m.Options); err != nil {
			return vendors.Config{}, src.overrideError(fmt.Sprintf("%s.models.%d.", key, i), err)
		}
		if row.ExtraBody, err = src.extra(fmt.Sprintf("%s.models.%d.extra_body", key, i), m.Extra); err != nil {
			return vendors.Config{}, err
		}
		p.Rows = append(p.Rows, row)
	}
	return p, nil
}

// spoken checks how a row says that its model is spoken to.
func (src *source) spoken(key string, m fileModel, usual string, own vendors.Dialects) error {
	if m.API != "" {
		if problem := vendors.CheckAPI(m.API); problem != "" {
			return src.errorf(key+".api", "%s", problem)
		}
	}
	if problem := vendors.CheckDialect(cmp.Or(m.API, usual), m.Dialect, own); problem != "" {
		return src.errorf(key+".dialect", "%s", problem)
	}
	_, err := src.numCtx(key, m.NumCtx, cmp.Or(m.API, usual))
	return err
}

// numCtx checks the window that an Ollama is asked for: no other API can be.
func (src *source) numCtx(key string, tokens int, api string) (int, error) {
	switch {
	case tokens < 0:
		return 0, src.errorf(key+".num_ctx", "%d is not a number of tokens", tokens)
	case tokens > 0 && api != "ollama":
		return 0, src.errorf(key+".num_ctx", "only Ollama's own API supports this setting; this provider uses %s", api)
	}
	return tokens, nil
}

// cache checks how long a vendor is to keep what is marked for its prompt cache: two APIs have marks.
func (src *source) cache(key, word, api string) (provider.CacheTime, error) {
	t, err := provider.ParseCacheTime(word)
	switch {
	case err != nil:
		return "", src.errorf(key, "%q is not one of 5m, 1h, off", word)
	case t != "" && api != "messages" && api != "chat":
		return "", src.errorf(key, "only the APIs messages and chat have it, and this is %s", api)
	}
	return t, nil
}

// makerOf is who made the models of a provider that is not in the catalog. A gateway that speaks a vendor's API in the vendor's
// dialect has the vendor's models, and the catalog's rows of them. A host of Google's API has Google's models.
func makerOf(p vendors.Config) string {
	if p.Dialect == "mantle" { // Amazon's other address
		return vendors.Bedrock
	}
	for _, v := range registry.Vendors() {
		if v.ID != vendors.Simulator && v.API == p.API && v.Dialect == p.Dialect {
			return v.ID
		}
	}
	if p.API == "gemini" {
		return p.API
	}
	return cmp.Or(p.Dialect, p.ID)
}

// baseURL is the file's, else the environment's, else the vendor's: the file is about this daemon, the variable about
// every program that talks to the vendor.
func (src *source) baseURL(key, stated string, p vendors.Config, v registry.Vendor, getenv func(string) string) (string, error) {
	fromEnv := variable(getenv, v.BaseURLEnv)
	switch v.ID {
	case "ollama":
		fromEnv = vendors.OllamaAddress(fromEnv)
	case "azure":
		fromEnv = vendors.AzureAddress(fromEnv)
	}
	switch {
	case stated != "":
		if problem := checkBaseURL(stated, p.API); problem != "" {
			return "", src.errorf(key+".base_url", "%s", problem)
		}
	case fromEnv != "":
		if problem := checkBaseURL(fromEnv, p.API); problem != "" {
			return "", fmt.Errorf("environment: %s: %s", v.BaseURLEnv, problem)
		}
	case v.ID == "" && p.Vendor == vendors.Bedrock: // its address follows from its region
	case v.ID == "":
		return "", src.errorf(key+".base_url", `missing; say where the API is, such as "https://llm.example.com"`)
	}
	return strings.TrimRight(cmp.Or(stated, fromEnv, v.BaseURL), "/"), nil
}
