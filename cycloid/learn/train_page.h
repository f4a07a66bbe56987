// A training as a page: the loss, what was held back, and the learning rate.
#pragma once

#include "cycloid/learn/train.h"
#include "cycloid/page/page.h"

namespace cycloid::inline learn {

Page train_page(const TrainState& state, const std::string& title, const std::string& verdict);

}  // namespace cycloid::inline learn
