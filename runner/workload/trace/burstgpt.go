package trace

import (
	"errors"
	"fmt"
	"time"

	"sweetspot/runner/workload/input"
)

// BurstGPT is the trace of that name, a CSV file with a header. Times are in seconds. Nothing is known of prompts but their lengths, so none shares
// anything with another.
func BurstGPT() Format {
	return Format{Name: "burstgpt", Entries: input.CSV{Needs: columns}, Parse: func(entry input.Entry) (*Session, error) {
		var row burstGPT
		if err := decode(entry.Text, &row); err != nil {
			return nil, err
		}
		return row.session()
	}}
}

// columns are those that every row needs.
var columns = []string{"Timestamp", "Request tokens", "Response tokens"}

type burstGPT struct {
	Timestamp      *number `json:"Timestamp"` // seconds
	RequestTokens  *number `json:"Request tokens"`
	ResponseTokens *number `json:"Response tokens"`

	// Known, and not needed.
	Model       string `json:"Model"`
	TotalTokens label  `json:"Total tokens"`
	LogType     string `json:"Log Type"`
	SessionID   label  `json:"Session ID"`
	ElapsedTime label  `json:"Elapsed time"`
}

func (b *burstGPT) session() (*Session, error) {
	if b.Timestamp == nil {
		return nil, errors.New("the Timestamp is missing")
	}
	at, err := b.Timestamp.duration("Timestamp", time.Second, latest)
	if err != nil {
		return nil, err
	}
	turn := Turn{}
	if turn.PromptTokens, err = b.RequestTokens.count("Request tokens", 1); err != nil {
		return nil, fmt.Errorf("%w%s", err, failedRow)
	}
	if turn.OutputTokens, err = b.ResponseTokens.count("Response tokens", 1); err != nil {
		return nil, fmt.Errorf("%w%s", err, failedRow)
	}
	return &Session{At: &at, Turns: []Turn{turn}}, nil
}

// failedRow is what to do about rows of requests that failed.
const failedRow = ` (requests that failed have 0: take the file "without fails", or leave those rows out)`
