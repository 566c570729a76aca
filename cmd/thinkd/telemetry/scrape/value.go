package scrape

import (
	"strings"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// value is a number without labels.
type value struct {
	name, help string
	now        float64
}

// encode makes values metrics. One whose name ends in _total is a counter, as the format advises.
func encode(list []value) []metricdata.Metrics {
	var metrics []metricdata.Metrics
	for _, v := range list {
		points := []metricdata.DataPoint[float64]{{Value: v.now}}
		var data metricdata.Aggregation = metricdata.Gauge[float64]{DataPoints: points}
		if strings.HasSuffix(v.name, "_total") {
			data = metricdata.Sum[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
		}
		metrics = append(metrics, metricdata.Metrics{Name: v.name, Description: v.help, Data: data})
	}
	return metrics
}
