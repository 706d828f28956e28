-- Script for wrk: repeats one call with a new id each time, or the three calls of complete runs.
--
-- wrk ... -s load.lua URL -- CALL [PAUSE_MS] [LATER] [HOST:PORT ...]
--
-- LATER is the number of turns between the calls of a run. With addresses, each thread sends to its
-- own; there are as many threads.
local ffi = require("ffi")
ffi.cdef [[
  typedef struct { long sec; long usec; } timeval;
  int gettimeofday(timeval *now, void *zone);
  int getpid();
  void *malloc(size_t size);
  typedef struct { volatile double opened, batched; char ids[65536][33]; } runs;
]]
local clock = ffi.new("timeval")
local format, random, concat = string.format, math.random, table.concat

local function now_ms()
  ffi.C.gettimeofday(clock, nil)
  return tonumber(clock.sec) * 1000 + math.floor(tonumber(clock.usec) / 1000)
end

local second, stamp = 0, ""
local function instant(ms)
  local s = math.floor(ms / 1000)
  if s ~= second then second, stamp = s, os.date("!%Y-%m-%dT%H:%M:%S", s) end
  return format("%s.%03dZ", stamp, ms % 1000)
end

-- Half of the ids are UUIDv7, and half are random, as trace ids are.
local function hex(ms)
  if random(2) == 1 then
    return format("%04x%06x%06x%04x%06x%06x", random(0, 0xffff), random(0, 0xffffff),
      random(0, 0xffffff), random(0, 0xffff), random(0, 0xffffff), random(0, 0xffffff))
  end
  return format("%012x7%03x%04x%06x%06x", ms, random(0, 0xfff), random(0x8000, 0xbfff),
    random(0, 0xffffff), random(0, 0xffffff))
end

local calls = {}

function calls.open(ms)
  return "POST", "/v1/runs", format(
    '{"id":"run_eu_%s","agent":"researcher","started_at":"%s","customer_id":"acme"}',
    hex(ms), instant(ms))
end

function calls.finish(ms)
  return "POST", format("/v1/runs/run_eu_%s/finish", hex(ms)), format(
    '{"status":"success","finished_at":"%s","output":{"answer":42}}', instant(ms))
end

function calls.heartbeat(ms)
  return "POST", "/v1/heartbeats", format(
    '{"id":"run_eu_%s","agent":"nightly","cost_usd":0.0125}', hex(ms))
end

function calls.ping(ms)
  return "GET", format("/v1/ping?agent=nightly&id=run_eu_%s", hex(ms)), nil
end

function calls.guard()
  return "POST", "/v1/guard/check", '{"customer_ref":"acme","agent":"nightly"}'
end

local function event(ms, ts, n)
  return format('{"id":"evt_eu_%s","type":"llm_call","ts":"%s","data":{"provider":"openai",' ..
    '"model":"gpt-4o","input_tokens":%d,"output_tokens":%d,"latency_ms":900,"prompt":' ..
    '"Question %d: what do the sources of the run say about the matter at hand, and why?"}}',
    hex(ms), ts, 1000 + n, 200 + n, n)
end

local function batch(id, ms, count)
  local events, ts = {}, instant(ms)
  for n = 1, count do events[n] = event(ms, ts, n) end
  return "POST", format("/v1/runs/run_eu_%s/events", id),
    '{"events":[' .. concat(events, ",") .. ']}'
end

function calls.events(ms)
  return batch(hex(ms), ms, 50)
end

-- A complete run is an opening, a batch of 10 events and a finish. Each turn opens a run, sends the
-- events of a run opened some turns earlier, and finishes one opened twice as many turns earlier. So
-- a run's calls use several connections, and the service has answered one before the next is sent. Of
-- several threads, the next one sends the events of a run, and the one after it the finish: a run's
-- calls go to different services, as behind a load balancer. Threads share the ids in memory.
local IDS = 65536
local later = 100
local OPEN, EVENTS, FINISH = 1, 2, 3
local step, finished = FINISH, 0
local to_open, to_batch, to_finish

local THREADS_MAX = 16
local shared
local threads = 0
function setup(thread)
  if shared == nil then
    shared = ffi.cast("runs *", ffi.C.malloc(THREADS_MAX * ffi.sizeof("runs")))
    for n = 0, THREADS_MAX - 1 do shared[n].opened, shared[n].batched = 0, 0 end
  end
  thread:set("number", threads)
  thread:set("address", tonumber(ffi.cast("intptr_t", shared)))
  threads = threads + 1
end

local function share_runs(count)
  local all = ffi.cast("runs *", ffi.cast("intptr_t", address))
  to_open, to_batch, to_finish = all[number], all[(number + 1) % count], all[(number + 2) % count]
end

function calls.run(ms)
  step = step % FINISH + 1
  if step == EVENTS and to_batch.opened - to_batch.batched <= later then step = FINISH end
  if step == FINISH and to_finish.batched - finished <= later then step = OPEN end
  if step == EVENTS then
    local id = ffi.string(to_batch.ids[to_batch.batched % IDS])
    to_batch.batched = to_batch.batched + 1
    return batch(id, ms, 10)
  end
  if step == FINISH then
    local id = ffi.string(to_finish.ids[finished % IDS])
    finished = finished + 1
    return "POST", format("/v1/runs/run_eu_%s/finish", id),
      format('{"status":"success","finished_at":"%s","output":{"answer":42}}', instant(ms))
  end
  local id = hex(ms)
  ffi.copy(to_open.ids[to_open.opened % IDS], id)
  to_open.opened = to_open.opened + 1
  return "POST", "/v1/runs", format(
    '{"id":"run_eu_%s","agent":"researcher","started_at":"%s","customer_id":"acme"}',
    id, instant(ms))
end

local call
local headers = { ["Authorization"] = format("Bearer apk_eu_%032x", 1) }
local isChecked = false

function init(args)
  call = calls[args[1] or "open"]
  local pause = tonumber(args[2] or "0")
  math.randomseed(now_ms() + ffi.C.getpid() + 1000003 * number)
  later = tonumber(args[3] or later)
  share_runs(math.max(1, #args - 3))
  if args[4 + number] ~= nil then
    local host, port = args[4 + number]:match("^(.+):(%d+)$")
    wrk.thread.addr = wrk.lookup(host, port)[1]
  end
  -- Defined only if needed: even a delay function that returns 0 slows wrk down.
  if pause > 0 then
    function delay() return math.floor(random() * 2 * pause + 0.5) end
  end
end

function request()
  -- wrk only checks the first request and never sends it.
  if not isChecked then
    isChecked = true
    return wrk.format("GET", "/healthz")
  end
  local method, path, body = call(now_ms())
  return wrk.format(method, path, headers, body)
end

function done(summary, latency)
  local errors = summary.errors
  io.stderr:write(format(
    '{"requests":%d,"refused":%d,"lost":%d,"durationUs":%d,"p50Us":%d,"p99Us":%d}\n',
    summary.requests, errors.status, errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration, latency:percentile(50), latency:percentile(99)))
end
