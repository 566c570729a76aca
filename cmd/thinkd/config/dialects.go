package config

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/vendors"
)

// dialects reads the operator's own: each is a record as those of thinkd's own table, with its name for an id.
func (src *source) dialects(f map[string]any) (vendors.Dialects, error) {
	if len(f) == 0 {
		return nil, nil
	}
	taken, err := chat.Dialects()
	if err != nil {
		return nil, err
	}
	own := vendors.Dialects{}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		key := "dialects." + name
		record, ok := f[name].(map[string]any)
		switch {
		case !ok:
			return nil, src.errorf(key, "must be a table")
		case slices.Contains(taken, name):
			return nil, src.errorf(key, "thinkd has a dialect of this name; choose another one")
		case record["id"] != nil:
			return nil, src.errorf(key+".id", "leave it out: the table's name is the id")
		}
		record = maps.Clone(record)
		record["id"] = name
		data, err := json.Marshal(record)
		if err != nil {
			return nil, src.errorf(key, "%w", err)
		}
		if own[name], err = chat.ParseDialect(data); err != nil {
			return nil, src.errorf(key, "%w", err)
		}
	}
	return own, nil
}
