-- Gives up one hold on a value; what nobody holds goes, and gives up its children, all in this one call.
local open = {KEYS[1]}
local freed = 0
while #open > 0 do
  local key = table.remove(open)
  if redis.call('DECR', key .. ':rc') <= 0 then
    for _, child in ipairs(redis.call('LRANGE', key .. ':rl', 0, -1)) do open[#open + 1] = child end
    redis.call('DEL', key .. ':rl')
    redis.call('DEL', key .. ':rc')
    redis.call('DEL', key)
    freed = freed + 1
  end
end
return freed
