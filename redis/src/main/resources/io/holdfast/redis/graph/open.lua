#!lua flags=allow-oom
-- Makes a graph if there is none, and says what it is. No two lives of a graph have the same latest drop (root.lua): so a
-- late repeat of a call that made a root in one life makes none in the next.
-- KEYS  meta
-- ARGV  layout width addressing incarnation lease
-- REPLY status layout width addressing incarnation now shelf
local meta = KEYS[1]
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local it = redis.call('HMGET', meta, 'layout', 'width', 'addressing', 'incarnation', 'shelf')
if it[1] then
  return {'OK', it[1], it[2], it[3], it[4], now, it[5] or '0'}
end
local server = redis.call('INFO', 'server', 'replication')
local run = string.match(server, 'run_id:(%x+)') .. '/' .. (string.match(server, 'master_replid:(%x+)') or '')
redis.call('HSET', meta, 'layout', ARGV[1], 'width', ARGV[2], 'addressing', ARGV[3], 'incarnation', ARGV[4],
  'run', run, 'quiet', '0', 'longest', ARGV[5] .. ';' .. now, 'dropped', string.format('%.0f', time[1] * 1000000 + time[2]),
  'edges', '0')
return {'MADE', ARGV[1], ARGV[2], ARGV[3], ARGV[4], now, '0'}
