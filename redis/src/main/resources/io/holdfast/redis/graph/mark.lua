#!lua flags=allow-oom
-- Begins a mark, carries it on, ends it, and looks who the server is. From begin to end nothing is freed (see shard.lua), so
-- that who scans the values meets every one that was there when he began. A mark that was not carried on in time is lost
-- for good, and so is what was scanned under it. There is one mark at a time.
-- KEYS  meta values incoming
-- ARGV  operation token lease
-- REPLY status run now incarnation torn
local meta, values, incoming = unpack(KEYS)
--@include shard.lua
--@include names.lua

local operation, token, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local incarnation = redis.call('HGET', meta, 'incarnation')
local mine = marked and string.match(about[6], '^%d+;(.*)$') == token
local status = 'OK'
if operation == 'begin' and marked and not mine then
  status = 'BUSY'
elseif operation == 'begin' or operation == 'on' and mine then
  redis.call('HSET', meta, 'mark', digits(now + lease) .. ';' .. token)
elseif operation == 'end' and mine then
  redis.call('HDEL', meta, 'mark')
elseif operation ~= 'look' then
  status = 'LOST'
end
return {status, run, digits(now), incarnation, redis.call('HGET', meta, 'torn') or '0'}
