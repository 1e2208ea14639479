#!lua flags=no-writes
-- What is known of things: record, when it is due (negative: filed under a lease), and its living holders with the
-- milliseconds that their leases still run.
-- KEYS  things due deadlines
-- ARGV  things…
-- REPLY now-ms shown…
--@include ../lease/time.lua
local now = clock()
local reply = {now}
for i, id in ipairs(ARGV) do
  local record = redis.call('HGET', KEYS[1], id) or ''
  local one = {record, redis.call('ZSCORE', KEYS[2], id) or ''}
  for lease in string.gmatch(string.byte(record, 18) == 44 and string.sub(record, 18) or '', ',[^,]+') do
    if redis.call('HEXISTS', KEYS[1], lease) == 1 then
      one[#one + 1] = string.sub(lease, 2)
      one[#one + 1] = (redis.call('ZSCORE', KEYS[3], lease) or now) - now
    end
  end
  reply[i + 1] = one
end
return reply
