package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

var tickers = map[string]func(time.Duration) Ticker{"kernel": NewTicker, "timer": NewTimerTicker}

func TestATickerWakesAtTheEndOfEachPeriod(t *testing.T) {
	const period = time.Millisecond
	for name, begin := range tickers {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			ticker := begin(period)
			defer ticker.Stop()
			for n := time.Duration(1); n <= 5; n++ {
				if !ticker.Wait() {
					t.Fatal("it ended unasked")
				}
				if since := time.Since(start); since < n*period {
					t.Fatalf("the wait for period %d ended after %v", n, since)
				}
			}
		})
	}
}

func TestAStoppedTickerWakesItsGoroutine(t *testing.T) {
	for name, begin := range tickers {
		t.Run(name, func(t *testing.T) {
			ticker, ended := begin(time.Hour), make(chan bool)
			go func() { ended <- ticker.Wait() }()
			ticker.Stop()
			ticker.Stop()
			if <-ended || ticker.Wait() {
				t.Error("a ticker that was stopped told of a period")
			}
		})
	}
}

func TestTheTimersTickerFollowsABubblesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ticker := NewTimerTicker(time.Hour)
		defer ticker.Stop()
		for range 3 {
			ticker.Wait()
		}
		if since := time.Since(start); since != 3*time.Hour {
			t.Errorf("three hours ended after %v", since)
		}
	})
}
