#!lua
-- Ends the open epochs of keys, whoever holds them. Per key: OK EPOCH, GONE or BUSY.
-- KEYS  things due closing claims
-- ARGV  by evidence things…
-- REPLY statuses…
--@include ../hold/time.lua
--@include frozen.lua
local now, reply = clock(), {}
local keys = {things = KEYS[1], due = KEYS[2], closing = KEYS[3], claims = KEYS[4]}
for i = 3, #ARGV do
  local record = redis.call('HGET', KEYS[1], ARGV[i])
  if not record or string.byte(record) == 48 then
    reply[#reply + 1] = 'GONE'
  else
    local frozen = freeze(keys, ARGV[i], record, now, ARGV[1], ARGV[2])
    reply[#reply + 1] = frozen and 'OK ' .. string.sub(record, 1, 16) or 'BUSY'
  end
end
return reply
