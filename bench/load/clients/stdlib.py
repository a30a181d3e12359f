"""The script people write first: threads, http.client, one chunk is one token.

python stdlib.py PORT PLACES RUNS TOKENS
"""
import http.client
import json
import statistics
import sys
import threading
import time

port, places, runs, tokens = map(int, sys.argv[1:5])
lock = threading.Lock()
left = runs
ttfts, tpots, counts = [], [], []


def place():
    global left
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while True:
        with lock:
            if left <= 0:
                return
            left -= 1
        body = json.dumps({"model": "truth", "prompt": "Hello", "max_tokens": tokens, "stream": True, "temperature": 0})
        sent = time.perf_counter()
        connection.request("POST", "/v1/completions", body, {"content-type": "application/json"})
        response = connection.getresponse()
        first = last = None
        count = 0
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            if json.loads(line[6:])["choices"][0]["text"]:
                last = time.perf_counter()
                first = first or last
                count += 1
        with lock:
            ttfts.append((first - sent) * 1000)
            tpots.append((last - first) * 1000 / max(1, count - 1))
            counts.append(count)


started = time.perf_counter()
threads = [threading.Thread(target=place) for _ in range(places)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
seconds = time.perf_counter() - started
ttfts.sort()
print(json.dumps({
    "output_throughput": sum(counts) / seconds,
    "mean_ttft_ms": statistics.mean(ttfts),
    "p99_ttft_ms": ttfts[min(len(ttfts) - 1, int(len(ttfts) * 0.99))],
    "mean_tpot_ms": statistics.mean(tpots),
}))
