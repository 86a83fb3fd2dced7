package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	patience  = 2 * time.Second // for one answer
	mostBytes = 8 << 20         // of one answer
)

// Families asks an address once for what it shows, by name. header is sent along. An error does not name the address, which may hold a secret.
func Families(ctx context.Context, client *http.Client, address string, header http.Header) (map[string]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if header != nil {
		request.Header = header.Clone()
	}
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	response, err := client.Do(request)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err // its own text names the address
		}
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(response.Body, mostBytes))
	if err != nil {
		return nil, fmt.Errorf("it is no Prometheus text: %w", err)
	}
	return families, nil
}
